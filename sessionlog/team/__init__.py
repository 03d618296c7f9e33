"""The team archive: sessions of many people in one PostgreSQL database."""
