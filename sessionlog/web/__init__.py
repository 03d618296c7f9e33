"""The pages of `sessionlog browse`: a plugin of Datasette."""
