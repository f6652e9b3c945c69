import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import type { components } from "@muster/client";
import { connect } from "../connection.ts";
import { done, exits, Failure } from "../failure.ts";
import type { Globals, Io } from "../io.ts";
import { messageOf } from "../message-of.ts";

type AppendBody = components["schemas"]["AuditEventInput"];

export type AppendOptions = Globals & { org?: string };

const mostEvents = 100;

/** Appends events to the audit trail, a JSON object a line, in requests of a hundred. */
export async function appendEvents(io: Io, file: string, options: AppendOptions): Promise<void> {
  const { muster } = connect(io, options);
  const [ids, totals]: [string[], { repeated: number }] = [[], { repeated: 0 }];
  const send = async (events: AppendBody[]) => {
    const body = { events, ...(options.org ? { orgId: options.org } : {}) };
    const reply = await done(muster.POST("/api/v1/audit-logs/events", { body }));
    ids.push(...reply.ids);
    totals.repeated += reply.repeated;
  };
  let held: AppendBody[] = [];
  let number = 0;
  for await (const line of createInterface({ input: file === "-" ? io.stdin : createReadStream(file) })) {
    number += 1;
    if (line.trim() === "") continue;
    held.push(eventIn(line, number));
    if (held.length < mostEvents) continue;
    await send(held);
    held = [];
  }
  if (held.length > 0) await send(held);
  const text = `${ids.length} events, ${totals.repeated} of them there before\n`;
  io.stdout.write(options.json ? `${JSON.stringify({ ids, ...totals }, null, 2)}\n` : text);
}

function eventIn(line: string, number: number): AppendBody {
  try {
    return JSON.parse(line) as AppendBody;
  } catch (cause) {
    throw new Failure(exits.usage, `line ${number} is not JSON: ${messageOf(cause)}`);
  }
}
