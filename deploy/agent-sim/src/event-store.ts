import type { EventFilter, EventLog, EventPage, LiveEvent } from "@muster/agent";

/** An event store whose answers are there at once (`EventStore` of `@muster/agent`). */
export type EventStore = {
  logs(): EventLog[];
  log(name: string): EventLog | null;
  events(name: string, filter: EventFilter): EventPage | null;
  event(name: string, recordId: number): LiveEvent | null | undefined;
};

export type EventStoreOptions = {
  os: "windows" | "linux" | "darwin";
  hostname: string;
  /** Records of each log. */
  records?: number;
  /** Bytes that are added to each entry's raw XML, to make large answers. */
  padBytes?: number;
  now?: () => Date;
};

type Kind = {
  source: string;
  eventId: number;
  level: LiveEvent["level"];
  category: string;
  message: string;
  user?: string;
};

const system = "NT AUTHORITY\\SYSTEM";

const windowsKinds: Record<string, readonly Kind[]> = {
  System: [
    {
      source: "Service Control Manager",
      eventId: 7036,
      level: "information",
      category: "None",
      message: "The Windows Update service entered the running state.",
    },
    {
      source: "Microsoft-Windows-Kernel-Power",
      eventId: 41,
      level: "critical",
      category: "(63)",
      message: "The system has rebooted without cleanly shutting down first.",
      user: system,
    },
    {
      source: "disk",
      eventId: 51,
      level: "warning",
      category: "None",
      message: "An error was detected on device \\Device\\Harddisk0\\DR0 during a paging operation.",
    },
    {
      source: "DCOM",
      eventId: 10016,
      level: "error",
      category: "None",
      message: "The application-specific permission settings do not grant Local Activation permission.",
      user: system,
    },
  ],
  Application: [
    {
      source: "Application Error",
      eventId: 1000,
      level: "error",
      category: "Application Crashing Events",
      message: "Faulting application name: explorer.exe",
    },
    {
      source: "MsiInstaller",
      eventId: 1033,
      level: "information",
      category: "None",
      message: "Windows Installer installed the product.",
      user: system,
    },
    { source: "ESENT", eventId: 916, level: "verbose", category: "General", message: "The beta feature is enabled." },
  ],
  Security: [
    {
      source: "Microsoft-Windows-Security-Auditing",
      eventId: 4624,
      level: "information",
      category: "Logon",
      message: "An account was successfully logged on.",
    },
    {
      source: "Microsoft-Windows-Security-Auditing",
      eventId: 4625,
      level: "warning",
      category: "Logon",
      message: "An account failed to log on.",
    },
  ],
  "Microsoft-Windows-PowerShell/Operational": [
    {
      source: "Microsoft-Windows-PowerShell",
      eventId: 4104,
      level: "verbose",
      category: "Execute a Remote Command",
      message: "Creating Scriptblock text (1 of 1): Get-Service",
      user: system,
    },
    {
      source: "Microsoft-Windows-PowerShell",
      eventId: 4103,
      level: "information",
      category: "Executing Pipeline",
      message: "CommandInvocation(Get-Service)",
      user: system,
    },
  ],
  "Microsoft-Windows-TaskScheduler/Operational": [
    {
      source: "Microsoft-Windows-TaskScheduler",
      eventId: 201,
      level: "information",
      category: "Action completed",
      message: "Task Scheduler successfully completed task.",
    },
  ],
};

const linuxKinds: Record<string, readonly Kind[]> = {
  syslog: [
    {
      source: "systemd",
      eventId: 0,
      level: "information",
      category: "daemon",
      message: "Started Daily apt download activities.",
    },
    {
      source: "cron",
      eventId: 0,
      level: "information",
      category: "cron",
      message: "(root) CMD (run-parts /etc/cron.hourly)",
      user: "root",
    },
    {
      source: "systemd",
      eventId: 0,
      level: "error",
      category: "daemon",
      message: "Failed to start Network Time Synchronization.",
    },
  ],
  "auth.log": [
    {
      source: "sshd",
      eventId: 0,
      level: "warning",
      category: "auth",
      message: "Failed password for invalid user admin from 203.0.113.9 port 40022 ssh2",
    },
    {
      source: "sudo",
      eventId: 0,
      level: "information",
      category: "auth",
      message: "pam_unix(sudo:session): session opened for user root",
      user: "root",
    },
  ],
  "kern.log": [
    {
      source: "kernel",
      eventId: 0,
      level: "critical",
      category: "kern",
      message: "Out of memory: Killed process 4242 (java)",
    },
    {
      source: "kernel",
      eventId: 0,
      level: "verbose",
      category: "kern",
      message: "usb 1-1: new high-speed USB device number 4 using xhci_hcd",
    },
  ],
};

const minuteMs = 60_000;

/**
 * The event logs of a made-up computer: each record follows from its number, so that any number of them takes no
 * memory. One a minute, the newest written just now.
 */
export function syntheticEventStore(options: EventStoreOptions): EventStore {
  const { os, hostname, records = 2_000, padBytes = 0, now = () => new Date() } = options;
  const kinds = os === "windows" ? windowsKinds : linuxKinds;
  const newestMs = now().getTime();
  const pad = "x".repeat(padBytes);

  const nameOf = (name: string) => Object.keys(kinds).find((each) => each.toLowerCase() === name.toLowerCase());
  const timeOf = (recordId: number) => new Date(newestMs - (records - recordId) * minuteMs).toISOString();

  const entry = (name: string, recordId: number): LiveEvent => {
    const own = kinds[name] as readonly Kind[];
    const { user, ...kind } = own[recordId % own.length] as Kind;
    const event: LiveEvent = {
      recordId,
      timeCreated: timeOf(recordId),
      ...kind,
      user: user ?? null,
      computer: hostname,
    };
    if (os === "windows") event.rawXml = xmlOf(event, name, pad);
    return event;
  };

  const describe = (name: string): EventLog => ({
    name,
    displayName: name.split("/")[0]?.replaceAll("-", " ") ?? name,
    recordCount: records,
    maxSize: 20_971_520,
    retentionDays: 7,
    lastWriteTime: timeOf(records),
  });

  return {
    logs: () => Object.keys(kinds).map(describe),
    log(name) {
      const logName = nameOf(name);
      return logName === undefined ? null : describe(logName);
    },
    events(name, filter) {
      const logName = nameOf(name);
      if (logName === undefined) return null;
      const matches = matcherOf(kinds[logName] as readonly Kind[], filter);
      const from = filter.startTime === undefined ? -Infinity : Date.parse(filter.startTime);
      const to = filter.endTime === undefined ? Infinity : Date.parse(filter.endTime);
      const skip = (filter.page - 1) * filter.limit;
      const events: LiveEvent[] = [];
      let total = 0;
      for (let recordId = records; recordId >= 1; recordId--) {
        const atMs = newestMs - (records - recordId) * minuteMs;
        if (!matches(recordId) || atMs < from || atMs > to) continue;
        if (total >= skip && events.length < filter.limit) events.push(entry(logName, recordId));
        total += 1;
      }
      return { events, total };
    },
    event(name, recordId) {
      const logName = nameOf(name);
      if (logName === undefined) return null;
      return recordId >= 1 && recordId <= records ? entry(logName, recordId) : undefined;
    },
  };
}

/** Whether a record fits, decided once for each kind. */
function matcherOf(kinds: readonly Kind[], { level, source, eventId }: EventFilter): (recordId: number) => boolean {
  const fits = kinds.map(
    (kind) =>
      (level === undefined || kind.level === level) &&
      (source === undefined || kind.source === source) &&
      (eventId === undefined || kind.eventId === eventId),
  );
  return (recordId) => fits[recordId % kinds.length] ?? false;
}

function xmlOf(event: LiveEvent, channel: string, pad: string): string {
  const { source, eventId, recordId, timeCreated, computer } = event;
  return `<Event><System><Provider Name="${source}"/><EventID>${eventId}</EventID><EventRecordID>${recordId}</EventRecordID><TimeCreated SystemTime="${timeCreated}"/><Channel>${channel}</Channel><Computer>${computer}</Computer></System><EventData>${pad}</EventData></Event>`;
}
