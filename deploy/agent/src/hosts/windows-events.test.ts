import { describe, expect, it } from "@jest/globals";
import type { Reading } from "./event-source.ts";
import { type Wevtutil, windowsEventSource, windowsEventsIn } from "./windows-events.ts";

/** Microsoft Learn, "4624(S): An account was successfully logged on", Event XML; some of its Data left out. */
const logon = `<?xml version="1.0"?>
<Event xmlns="http://schemas.microsoft.com/win/2004/08/events/event">
  <System>
    <Provider Name="Microsoft-Windows-Security-Auditing" Guid="{54849625-5478-4994-A5BA-3E3B0328C30D}"/>
    <EventID>4624</EventID>
    <Version>2</Version>
    <Level>0</Level>
    <Task>12544</Task>
    <Opcode>0</Opcode>
    <Keywords>0x8020000000000000</Keywords>
    <TimeCreated SystemTime="2015-11-12T00:24:35.079785200Z"/>
    <EventRecordID>211</EventRecordID>
    <Correlation ActivityID="{00D66690-1CDF-0000-AC66-D600DF1CD101}"/>
    <Execution ProcessID="716" ThreadID="760"/>
    <Channel>Security</Channel>
    <Computer>WIN-GG82ULGC9GO</Computer>
    <Security/>
  </System>
  <EventData>
    <Data Name="SubjectUserSid">S-1-5-18</Data>
    <Data Name="SubjectUserName">WIN-GG82ULGC9GO$</Data>
    <Data Name="TargetUserName">Administrator</Data>
    <Data Name="LogonType">2</Data>
    <Data Name="IpAddress">127.0.0.1</Data>
  </EventData>
</Event>
`;

/** Microsoft Learn, "Troubleshoot WMI high CPU usage issues", the second event in XML format; UserData left out. */
const rendered = `<Event xmlns="http://schemas.microsoft.com/win/2004/08/events/event">
<System>
<Provider Name="Microsoft-Windows-WMI-Activity" Guid="{1418ef04-b0b4-4623-bf7e-d74ab47bbdaa}"/>
<EventID>12</EventID>
<Version>0</Version>
<Level>4</Level>
<Task>0</Task>
<Opcode>0</Opcode>
<Keywords>0x8000000000000000</Keywords>
<TimeCreated SystemTime="2023-05-05T13:09:18.8438242Z"/>
<EventRecordID>120</EventRecordID>
<Correlation ActivityID="{2a353ead-0000-0000-0000-256f9de5fabd}"/>
<Execution ProcessID="2752" ThreadID="4348"/>
<Channel>Microsoft-Windows-WMI-Activity/Trace</Channel>
<Computer>21H2W10M.contoso.com</Computer>
<Security UserID="S-1-5-21-0000000000-0000000000-00000000-1103"/>
</System>
<RenderingInfo Culture="en-US">
<Message>ProviderInfo for GroupOperationId = 28096; Operation = Provider::CreateInstanceEnum - MS_NT_EVENTLOG_PROVIDER : Win32_NTLogEvent; HostID = 556; ProviderName = MS_NT_EVENTLOG_PROVIDER; ProviderGuid = {FD4F53E0-65DC-11d1-AB64-00C04FD9159E}; Path = %systemroot%\\system32\\wbem\\ntevt.dll</Message>
<Level>Information</Level>
<Task/>
<Opcode>Info</Opcode>
<Channel/>
<Provider>Microsoft-Windows-WMI-Activity</Provider>
<Keywords/>
</RenderingInfo>
</Event>
`;

const inSystem = (recordId: number, change: (xml: string) => string = (xml) => xml) =>
  change(
    rendered
      .replace("<EventRecordID>120<", `<EventRecordID>${recordId}<`)
      .replace("<Channel>Microsoft-Windows-WMI-Activity/Trace<", "<Channel>System<"),
  );

describe("an event of Windows", () => {
  it("has the rendered message, and the values of the event where there is none", () => {
    expect(windowsEventsIn(rendered + logon)).toEqual([
      {
        timestamp: "2023-05-05T13:09:18.843Z",
        level: "info",
        category: "application",
        source: "Microsoft-Windows-WMI-Activity",
        eventId: "Microsoft-Windows-WMI-Activity/Trace/120",
        message: expect.stringMatching(/^ProviderInfo for GroupOperationId = 28096; .*wbem\\ntevt\.dll$/),
        details: {
          eventId: "12",
          computer: "21H2W10M.contoso.com",
          pid: "2752",
          user: "S-1-5-21-0000000000-0000000000-00000000-1103",
        },
      },
      {
        timestamp: "2015-11-12T00:24:35.079Z",
        level: "info",
        category: "security",
        source: "Microsoft-Windows-Security-Auditing",
        eventId: "Security/211",
        message:
          "SubjectUserSid: S-1-5-18\nSubjectUserName: WIN-GG82ULGC9GO$\nTargetUserName: Administrator\nLogonType: 2\nIpAddress: 127.0.0.1",
        details: { eventId: "4624", computer: "WIN-GG82ULGC9GO", pid: "716" },
      },
    ]);
  });

  it.each([
    ["<Level>1<", "critical"],
    ["<Level>2<", "error"],
    ["<Level>3<", "warning"],
    ["<Level>5<", "info"],
    ["<Level>77<", "info"],
    ["<Level><", "info"],
  ])("with %s has level %s", (level, expected) => {
    expect(windowsEventsIn(rendered.replace("<Level>4<", level))[0]?.level).toBe(expected);
  });

  it("is a warning for a refused logon, by its keyword", () => {
    const refused = logon.replace("0x8020000000000000", "0x8010000000000000");
    expect(windowsEventsIn(refused)[0]?.level).toBe("warning");
  });

  it("has its characters, whatever their form", () => {
    const text = "a &lt;b&gt; &amp;amp; &quot;c&quot; &#233; &#x1F600; &#99999999; &unknown;";
    const [event] = windowsEventsIn(rendered.replace(/<Message>[^<]*/, `<Message>${text}`));
    expect(event?.message).toBe('a <b> &amp; "c" é 😀 &#99999999; &unknown;');
  });

  it.each<[string, string]>([
    ["is cut", rendered.slice(0, -40)],
    ["has no number", rendered.replace("<EventRecordID>120<", "<EventRecordID><")],
    ["has no time", rendered.replace("2023-05-05T13:09:18.8438242Z", "yesterday")],
    ["has no channel", rendered.replace("<Channel>Microsoft-Windows-WMI-Activity/Trace<", "<Channel><")],
    ["has no system", rendered.replace(/<System>[\s\S]*<\/System>/, "")],
    ["is too long", rendered.replace("<Message>", `<Message>${"x".repeat(300_000)}`)],
    ["is a sentence", "The system cannot find the file specified.\r\n"],
  ])("is left out when it %s, and the next one is read", (_name, bad) => {
    expect(windowsEventsIn(`${bad}\n${logon}`).map(({ eventId }) => eventId)).toEqual(["Security/211"]);
  });
});

describe("the event log of Windows", () => {
  /** Follows it until `count` readings were taken. */
  async function readings(run: Wevtutil, cursor: string | null, count: number): Promise<Reading[]> {
    const taken: Reading[] = [];
    const ending = new AbortController();
    const take = async (reading: Reading) => {
      if (taken.push(reading) >= count) ending.abort();
    };
    await windowsEventSource(run, 1).follow(cursor, take, ending.signal);
    return taken;
  }

  it("is read on from the last record of each channel, and a closed channel stops no other", async () => {
    const queries: string[] = [];
    const run: Wevtutil = async ([, channel = "", ...args]) => {
      queries.push(`${channel} ${args[0]}`);
      if (channel === "Security") throw new Error("Access is denied.");
      if (channel === "System" && args.includes("/rd:true")) return inSystem(7);
      if (channel === "System" && args[0] === "/q:*[System[(EventRecordID>7)]]") return inSystem(8) + inSystem(9);
      return "";
    };
    const [reading] = await readings(run, null, 1);
    expect(reading?.events.map(({ eventId }) => eventId)).toEqual(["System/8", "System/9"]);
    expect(JSON.parse(reading?.cursor ?? "")).toMatchObject({ System: 9, Application: 0 });
    expect(queries).toContain("Application /q:*[System[(EventRecordID>0)]]");
    const cursor = JSON.stringify({ System: 9, Application: 4, Security: 3 });
    await readings(async (args) => (args.join(" ").includes(">9)") ? inSystem(10) : ""), cursor, 1);
  });

  it("goes beyond records that are no events", async () => {
    const bad = inSystem(8, (xml) => xml.replace(/SystemTime="[^"]*"/, ""));
    const run: Wevtutil = async ([, channel, query]) =>
      channel === "System" ? (query?.includes(">7)") ? bad : query?.includes(">8)") ? inSystem(9) : "") : "";
    const [first, second] = await readings(run, '{"System":7}', 2);
    expect(first).toEqual({ events: [], cursor: expect.stringContaining('"System":8') });
    expect(second?.events.map(({ eventId }) => eventId)).toEqual(["System/9"]);
  });

  it("is a failure with its reason when no channel can be read", async () => {
    const run: Wevtutil = () => Promise.reject(new Error("The RPC server is unavailable."));
    await expect(readings(run, "{}", 1)).rejects.toThrow("The RPC server is unavailable.");
  });
});
