export type ReadyFacts = {
  gatewayUrls: readonly string[];
  /** Address of the console in browsers: by name, for which passkeys are created. */
  consoleUrl: string;
  adminEmail: string;
  /** Shown once, at the first start. */
  adminPassword: string | null;
  dataDir: string;
  seconds: number;
};

/** The one screen that says the cluster is up, where it is and what to try first. */
export function readyScreen(facts: ReadyFacts): string {
  const url = facts.gatewayUrls[0] ?? "";
  const more = facts.gatewayUrls.slice(1);
  const lines = [
    "",
    `Muster is ready after ${facts.seconds.toFixed(1)} s.`,
    "",
    `  Console  ${facts.consoleUrl}`,
    `  API      ${url}/api/v1${more.length > 0 ? `   also ${more.join(", ")}` : ""}`,
    `  Docs     ${url}/docs`,
    `  Health   ${url}/health`,
    `  Logs     ${facts.dataDir}/logs`,
    `  Ports    ${facts.dataDir}/stack.json`,
    "",
  ];
  if (facts.adminPassword) {
    lines.push(
      "The first administrator, shown only once and not stored:",
      "",
      `  E-mail     ${facts.adminEmail}`,
      `  Password   ${facts.adminPassword}`,
      "",
    );
  }
  const password = facts.adminPassword ?? "<password>";
  lines.push(
    "Log in:",
    "",
    `  curl -s ${url}/api/v1/auth/login -H 'content-type: application/json' \\`,
    `    -d '{"email":"${facts.adminEmail}","password":"${password}"}'`,
    "",
    "Ctrl-C stops everything.",
    "",
  );
  return lines.join("\n");
}

/** One step of the start: what is up, where, after how long. */
export function stepLine(name: string, where: string, seconds: number): string {
  return `  ${name.padEnd(20)} ${where.padEnd(24)} ${seconds.toFixed(1).padStart(5)} s`;
}
