# Runs any_event.py for a hook of the plugin: `/bin/sh record.sh EVENT`. What `sessionlog install` registers knows its
# interpreter; a plugin has to find one, Python 3.10 or newer, for each event, and quickly.
here=${0%/*}

# A versioned name tells the version without starting anything, and is no shim of a version manager, which would cost
# 130 ms an event. To look costs 2 ms.
for python in /usr/bin/python3.1[0-9] /usr/local/bin/python3.1[0-9] /opt/homebrew/bin/python3.1[0-9]; do
    [ -x "$python" ] && exec "$python" -I -S -X utf8 "$here/any_event.py" "$1"
done

# Else whatever PATH has. A /usr/bin/python3 without a versioned name beside it is too old, or it is the one of macOS
# that opens a window to offer itself.
python=$(command -v python3)
[ "$python" = /usr/bin/python3 ] && python=
is_new_enough() {
    [ "$python" ] && "$python" -I -S -c 'import sys; sys.exit(sys.version_info < (3, 10))' >/dev/null 2>&1
}

# An error would be shown at every event. That there is no Python needs to be said once a session.
if [ "$1" = SessionStart ] && ! is_new_enough; then
    echo "sessionlog: there is no Python 3.10 or newer on this machine, so nothing is recorded." >&2
    exit 1
fi
"$python" -I -S -X utf8 "$here/any_event.py" "$1" || ! is_new_enough
