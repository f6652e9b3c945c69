// The reference of event types: what a webhook receives for each.
import { join } from "node:path";
import { pathToFileURL } from "node:url";

export async function eventsPage(root) {
  const compiled = (file) => import(pathToFileURL(join(root, file)).href);
  const { eventTypes } = await compiled("libs/kit/dist/index.js");
  const { eventTypeOf } = await compiled("gateway/dist/routes/webhooks/event-type-examples.js");
  const events = eventTypes.map(eventTypeOf);
  const groups = [...new Set(events.map(({ group }) => group))].map((group) => {
    const rows = events
      .filter((event) => event.group === group)
      .map(({ type, source, description, example }) => {
        const data = JSON.stringify(example.data).replaceAll("|", "\\|");
        return `| \`${type}\` | ${source} | ${description} | \`${data}\` |`;
      });
    return `## ${group}\n\n| Type | Source | Meaning | Example of \`data\` |\n|---|---|---|---|\n${rows.join("\n")}\n`;
  });
  return {
    "docs/events.md": `# Events

Every event type that a webhook can subscribe to, made from the code by \`node deploy/reference/generate.mjs\`.

- A delivery's body is \`{id, type, timestamp, orgId, data}\`; how to receive and verify one: [webhooks.md](webhooks.md).
- Source *platform*: Muster emits the event, and \`data\` has exactly these fields. Source *posted*: your programs emit it with
  \`POST /events\`, and \`data\` is what they posted; the example is a proposal.
- \`webhook.test\` comes from \`POST /webhooks/:id/test\` alone.

${groups.join("\n")}`,
  };
}
