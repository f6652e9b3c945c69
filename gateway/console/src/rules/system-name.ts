const names: Readonly<Record<string, string>> = { windows: "Windows", linux: "Linux", darwin: "macOS" };

/** The name of a system as people write it. */
export const systemName = (os: string): string => names[os] ?? os;
