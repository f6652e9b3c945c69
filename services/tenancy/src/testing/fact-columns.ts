/** What a device's row holds of a Linux machine with one version of the agent, of which nothing was announced. */
export const factColumns = {
  hostname: "web-1",
  agent_hostname: "web-1",
  os: "linux",
  arch: "amd64",
  libc: null,
  agent_version: "1.0.0",
  watchdog_version: null,
  helper_version: null,
  announced_facts: null,
};
