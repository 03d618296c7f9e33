"""How each agent speaks: one folder a product."""
