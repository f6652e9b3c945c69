/** The components that update themselves on a device, in the order in which one device updates them. */
export const components = ["agent", "watchdog", "helper"] as const;
export type Component = (typeof components)[number];

export const systems = ["windows", "linux", "darwin"] as const;
export const architectures = ["amd64", "arm64", "386"] as const;
/** C libraries for which a program for Linux is built; a program or a device that names none is of `gnu`. */
export const libcs = ["gnu", "musl"] as const;
export type Libc = (typeof libcs)[number];
export type Os = (typeof systems)[number];
export type Arch = (typeof architectures)[number];

/** The name of a build in keys and sentences: `linux/amd64`, or `linux/amd64/musl`. */
export const platformOf = ({ os, arch, libc }: { os: string; arch: string; libc?: string | undefined }): string =>
  os === "linux" && libc === "musl" ? `${os}/${arch}/musl` : `${os}/${arch}`;

/** Whether there are agents of this platform. */
export const isSupported = ({ os, arch }: { os: string; arch: string }): boolean =>
  systems.some((each) => each === os) && architectures.some((each) => each === arch);

export function isComponent(text: string): text is Component {
  return components.some((each) => each === text);
}
