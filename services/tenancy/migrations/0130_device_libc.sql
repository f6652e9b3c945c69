-- The C library of a Linux machine, by which its agent gets programs; null until the agent reports it.
ALTER TABLE devices ADD COLUMN libc text CHECK (libc IN ('gnu', 'musl'));
