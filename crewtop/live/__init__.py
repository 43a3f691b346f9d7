"""Redis or Valkey: the fast lane. Everything in it can vanish; nothing here raises because it did."""
