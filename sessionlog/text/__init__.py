"""Text from an archive made safe to show, and how numbers and times are written."""
