export type AgentFile = { os: string; arch: string; name: string; url: string; sha256: string };

/** A line for a terminal of the system itself that fetches a file and fails unless it is the one that was published. */
export function downloadLine({ os, name, url, sha256 }: AgentFile): string {
  switch (os) {
    case "windows":
      return (
        `Invoke-WebRequest "${url}" -OutFile "${name}"; ` +
        `if ((Get-FileHash "${name}").Hash -ne "${sha256}") { Remove-Item "${name}"; throw "wrong checksum" }`
      );
    case "darwin":
      return `curl -fLo '${name}' '${url}' && echo '${sha256}  ${name}' | shasum -a 256 -c - && chmod +x '${name}'`;
    default:
      return `curl -fLo '${name}' '${url}' && echo '${sha256}  ${name}' | sha256sum -c - && chmod +x '${name}'`;
  }
}
