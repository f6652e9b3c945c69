/** The site's navigation: groups of tasks or of references, pages by their path in the repository, with titles. */
export const groups = [
  {
    text: "Begin",
    pages: {
      "docs/first-steps.md": "Bring a first device online",
      "docs/concepts.md": "Learn the words",
      "deploy/compose/README.md": "Install by compose",
      "charts/muster/README.md": "Install on Kubernetes",
      "deploy/agent/README.md": "Install the agent",
    },
  },
  {
    text: "People and keys",
    pages: {
      "docs/sso.md": "Sign in by Entra, Okta, Google, Keycloak",
      "docs/directory.md": "Take users from a directory",
      "docs/api-keys.md": "Give programs a key",
    },
  },
  {
    text: "Integrate",
    pages: {
      "docs/webhooks.md": "Receive webhooks",
      "docs/webhooks/portal.md": "Let customers manage webhooks",
      "docs/audit-streams.md": "Send the audit trail to a SIEM",
      "docs/audit-alerts.md": "Send an alert for an audit row",
      "docs/cli.md": "Use the command line",
      "libs/client/README.md": "Use the client of TypeScript",
      "docs/agent-protocol.md": "Write an agent",
      "docs/agent-channel.md": "Keep an agent's channel open",
      "docs/agent-releases.md": "Publish versions of an agent",
    },
  },
  {
    text: "Operate",
    pages: {
      "docs/operations/README.md": "Find a runbook",
      "docs/operations/alerts.md": "Answer an alert",
      "docs/operations/upgrade.md": "Upgrade",
      "docs/operations/restore.md": "Back up and restore",
      "docs/operations/failover.md": "Fail over",
      "docs/operations/disasters.md": "Survive a disaster",
      "docs/operations/scaling.md": "Scale",
      "docs/operations/tls.md": "Encrypt connections",
      "docs/operations/rotate-keys.md": "Rotate keys",
      "services/tenancy/devices.md": "Review machines that enroll again",
      "docs/operations/dead-letters.md": "Handle dead letters",
      "docs/operations/audit-verify.md": "Verify the audit trail",
      "docs/operations/audit-retention.md": "Keep or delete audit rows",
      "deploy/observability/README.md": "Observe",
      "deploy/nats/README.md": "Run NATS",
    },
  },
  {
    text: "Look up",
    pages: {
      "docs/behaviour.md": "What the API promises",
      "docs/errors.md": "Errors",
      "docs/events.md": "Events",
      "docs/console.md": "The console",
      "docs/operations/settings.md": "Settings",
      "charts/muster/VALUES.md": "Values of the chart",
      "docs/operations/metrics.md": "Metrics",
      "docs/operations/audit-export-format.md": "Format of audit exports",
      "docs/performance.md": "Performance",
      "UPGRADING.md": "Steps of each version",
      "CHANGELOG.md": "Changes of each version",
      "SECURITY.md": "Report a vulnerability",
    },
  },
];

/** Paths of all pages. */
export const paths = groups.flatMap(({ pages }) => Object.keys(pages));
