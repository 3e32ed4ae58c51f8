"""How objects are shown: as JSON, as tables for people, and as the descriptions that kubectl asks for."""
