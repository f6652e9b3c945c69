-- Programs for Linux are built for one C library; those of before are for glibc.
ALTER TABLE artifact
  ADD COLUMN libc text NOT NULL DEFAULT 'gnu' CHECK (libc = 'gnu' OR (libc = 'musl' AND os = 'linux')),
  DROP CONSTRAINT artifact_pkey,
  ADD PRIMARY KEY (release_id, os, arch, libc);
