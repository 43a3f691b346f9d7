-- Hold queue or crew ($1) $2 back no more. Its slots go with the limit.
DELETE FROM crewtop.limits WHERE scope = $1 AND name = $2
