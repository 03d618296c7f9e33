// Hands events on to sessionlog, one process an event, in order. It never waits for them and never throws.
// chat.params is not handed on: it has the provider's API key.
import { spawn, spawnSync } from "node:child_process"

const COMMAND = [/* the command */]
const BUS = ["session.created", "session.idle", "session.error", "session.compacted", "permission.asked", "permission.replied"]
const SECONDS = 10

export const SessionlogPlugin = async ({ directory }) => {
  const parents = new Map() // of sub-agents, which are sessions of their own
  const lastWords = new Map()
  const waiting = []
  let running = false

  const next = () => {
    const payload = waiting.shift()
    running = payload !== undefined
    if (!running) return
    try {
      const child = spawn(COMMAND[0], [...COMMAND.slice(1), payload.hook_event_name], {
        stdio: ["pipe", "ignore", "ignore"],
        timeout: SECONDS * 1000,
      })
      child.on("error", next)
      child.on("exit", next)
      child.stdin.on("error", () => {})
      child.stdin.end(JSON.stringify(payload))
    } catch {
      next()
    }
  }

  const send = (name, sessionID, fields) => {
    try {
      const payload = { hook_event_name: name, cwd: directory, ...structuredClone(fields) }
      if (parents.has(sessionID)) payload.parent_session_id = parents.get(sessionID)
      waiting.push(payload)
      if (!running) next()
    } catch {
      // An event that cannot be copied is not recorded; opencode goes on.
    }
  }

  process.on("exit", () => {
    // What still waits: a run with a prompt ends as soon as the last answer is there.
    for (const payload of waiting.splice(0)) {
      try {
        spawnSync(COMMAND[0], [...COMMAND.slice(1), payload.hook_event_name], {
          input: JSON.stringify(payload),
          stdio: ["pipe", "ignore", "ignore"],
          timeout: SECONDS * 1000,
        })
      } catch {}
    }
  })

  return {
    "chat.message": async (input, output) => send("chat.message", input?.sessionID, { input, output }),
    "tool.execute.before": async (input, output) => send("tool.execute.before", input?.sessionID, { input, output }),
    "tool.execute.after": async (input, output) => send("tool.execute.after", input?.sessionID, { input, output }),
    "experimental.text.complete": async (input, output) => {
      lastWords.set(input?.sessionID, output?.text)
    },
    event: async ({ event }) => {
      const properties = event?.properties ?? {}
      const sessionID = properties.sessionID ?? properties.info?.id
      if (event?.type === "session.created" && properties.info?.parentID) parents.set(sessionID, properties.info.parentID)
      const failed = event?.type === "message.part.updated" && properties.part?.state?.status === "error"
      if (!failed && !BUS.includes(event?.type)) return
      const words = event.type === "session.idle" ? lastWords.get(sessionID) : undefined
      send(event.type, sessionID, words ? { properties, last_assistant_message: words } : { properties })
    },
  }
}
