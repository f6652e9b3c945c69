/** Fields of a device's record that its agent reports. */
export const factFields = [
  "hostname",
  "os",
  "arch",
  "libc",
  "agentVersion",
  "watchdogVersion",
  "helperVersion",
] as const;
export type FactField = (typeof factFields)[number];
export type ReportedFacts = Record<FactField, string | null>;

/** What events and audit rows last said of a fact, and when (ISO 8601). */
export type AnnouncedFacts = Partial<Record<FactField, { value: string | null; at: string }>>;

/** The columns of a device that hold its facts. */
export type FactColumns = {
  hostname: string;
  agent_hostname: string | null;
  os: string;
  arch: string;
  libc: string | null;
  agent_version: string;
  watchdog_version: string | null;
  helper_version: string | null;
  announced_facts: AnnouncedFacts | null;
};

/** Milliseconds between two announcements of one fact of a device. */
const announcedEveryMs = 3_600_000;

export function factsOfRow(row: FactColumns): ReportedFacts {
  return {
    hostname: row.hostname,
    os: row.os,
    arch: row.arch,
    libc: row.libc,
    agentVersion: row.agent_version,
    watchdogVersion: row.watchdog_version,
    helperVersion: row.helper_version,
  };
}

/**
 * The facts after a heartbeat; what it omits (null) stays. A host name counts when it is another than the one reported
 * before: until then a name that people gave stays, and so does any when none was reported before.
 */
export function factsAfter(row: FactColumns, said: ReportedFacts): ReportedFacts {
  const before = factsOfRow(row);
  const after = { ...before };
  for (const field of factFields) after[field] = said[field] ?? before[field];
  if (row.agent_hostname === null || said.hostname === row.agent_hostname) after.hostname = row.hostname;
  return after;
}

/** The facts to announce with their values before and after, and what was announced of all from now on. */
export type Announcement = { before: Partial<ReportedFacts>; after: Partial<ReportedFacts>; announced: AnnouncedFacts };

/**
 * Which facts are announced now: each whose value is another than the one last announced, once an hour at most. A fact
 * that changes again within the hour is announced with the first heartbeat after it, unless it has changed back.
 */
export function announcementOf(
  before: ReportedFacts,
  after: ReportedFacts,
  announced: AnnouncedFacts | null,
  now: Date,
): Announcement {
  const result: Announcement = { before: {}, after: {}, announced: {} };
  for (const field of factFields) {
    const last = announced?.[field];
    const isFree = last === undefined || isOver(last.at, now);
    const shown = last === undefined ? before[field] : last.value;
    if (isFree && after[field] !== shown) {
      result.before[field] = shown;
      result.after[field] = after[field];
      result.announced[field] = { value: after[field], at: now.toISOString() };
    } else if (last !== undefined && !isFree) result.announced[field] = last;
  }
  return result;
}

/** Whether a fact has changed since it was announced, and its hour is over. */
export function isAnnouncementDue(row: FactColumns, now: Date): boolean {
  if (row.announced_facts === null) return false;
  const facts = factsOfRow(row);
  return Object.keys(announcementOf(facts, facts, row.announced_facts, now).after).length > 0;
}

const isOver = (at: string, now: Date) => now.getTime() - Date.parse(at) >= announcedEveryMs;
