/** The line that installs the agent, by system. It holds no key: the installer asks for it. */
export const installLines = (origin: string) =>
  [
    ["Linux, macOS", `curl -fsSL ${origin}/install.sh | sudo sh`],
    ["Windows", `irm ${origin}/install.ps1 | iex`],
  ] as const;
