// The example fleet: 40 customers of one service provider with their sites and machines. Every run makes the same.
import { createHash } from "node:crypto";

const names = [
  ["Globex", "Osaka", "Nagoya", "Tokyo"],
  ["Initech", "Berlin", "Munich"],
  ["Umbra Coffee", "New York", "Sydney", "Boston"],
  ["Hooli", "London", "Paris"],
  ["Acme Retail", "Lisbon", "Porto", "Madrid"],
];
const others =
  "Aster Dental|Baltic Freight|Blue Harbor Hotels|Brightwater|Cedar Clinics|Citadel Law|Copperline|Delta Bakeries|Elm Street Books|Fairview Schools|Ferrum Works|Gilded Fork|Granite Labs|Harrow & Sons|Helio Energy|Iris Optics|Juniper Farms|Kestrel Air|Lantern Media|Lumen Theatres|Maple Pharmacy|Meridian Bank|Northgate Motors|Oak & Vine|Orchid Spas|Pinnacle Gyms|Quayside|Redwood Homes|Saffron Kitchens|Silver Birch|Solstice|Terra Survey|Tidewater|Verdant|Willow Care".split(
    "|",
  );
const towns = ["Stockholm", "Oslo", "Vienna", "Lyon", "Dublin", "Austin", "Turin", "Ghent"];
const zones = Object.fromEntries(
  [
    ["Asia/Tokyo", "Osaka", "Nagoya", "Tokyo"],
    ["Australia/Sydney", "Sydney"],
    ["America/New_York", "New York", "Boston"],
    ["America/Chicago", "Austin"],
    ["Europe/London", "London"],
    ["Europe/Paris", "Paris", "Lyon"],
    ["Europe/Lisbon", "Lisbon", "Porto"],
    ["Europe/Madrid", "Madrid"],
    ["Europe/Stockholm", "Stockholm"],
    ["Europe/Oslo", "Oslo"],
    ["Europe/Vienna", "Vienna"],
    ["Europe/Dublin", "Dublin"],
    ["Europe/Rome", "Turin"],
    ["Europe/Brussels", "Ghent"],
  ].flatMap(([zone, ...cities]) => cities.map((city) => [city, zone])),
);
const kinds = [
  ["pos", "linux", 5],
  ["srv", "linux", 2],
  ["kiosk", "windows", 4],
  ["desk", "windows", 5],
  ["mac", "darwin", 2],
];

/** Versions of the agent with how many of a hundred machines run each; the first is the fleet's target. */
const versions = { "2.4.3": 84, "2.4.1": 9, "2.3.9": 7 };

export const customers = [...names, ...others.map((name, at) => [name, towns[at % towns.length]])].map(
  ([name, ...sites]) => ({
    name,
    slug: name.toLowerCase().replace(/[^a-z]+/g, "-"),
    sites: sites.map((site) => ({ name: site, timezone: zones[site] ?? "Europe/Berlin" })),
  }),
);

/** A number from 0 to 99 that belongs to a text. */
export const percentOf = (text) => createHash("sha256").update(text).digest().readUInt32BE() % 100;

/** A UUID that belongs to a text. */
export const idOf = (text) =>
  createHash("sha256")
    .update(text)
    .digest("hex")
    .replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, "$1-$2-4$3-8$4-$5");

/** Machines behind a line that is cut: all of one customer, and the counters of another. */
const cutOff = /^(?:tid-|kes-.*-(?:pos|kiosk)-)/;

/** Machines that are not reached: those, and some of every hundred. */
export const isSilent = ({ hostname }) => cutOff.test(hostname) || percentOf(`silent ${hostname}`) < 3;

const [hourMs, dayHours, slowHours] = [3_600_000, 24, 4_320];

/**
 * The load of a machine at an instant in percent: [CPU, memory, disk]. What its agent reports and its past are read off
 * the same curve: work by day, a disk that fills and is tidied up over months.
 */
export function loadOf(hostname, atMs) {
  const hour = atMs / hourMs;
  const day = Math.max(0, Math.sin((((hour % dayHours) - 6) / dayHours) * 2 * Math.PI));
  const phase = ((hour + percentOf(`disk ${hostname}`) * 40) % slowHours) / slowHours;
  const jitter = (what) => percentOf(`${what} ${hostname} ${Math.floor(atMs / 300_000)}`) / 20;
  return [
    8 + (percentOf(`cpu ${hostname}`) % 20) + 16 * day + 2 * jitter("cpu"),
    34 + (percentOf(`memory ${hostname}`) % 34) + 6 * day + jitter("memory") / 2,
    28 + (percentOf(`disk ${hostname}`) % 48) + 24 * (1 - Math.abs(2 * phase - 1)),
  ];
}

/** Whether a customer takes updates as they come; others wait for the night that they have set, and lie behind. */
export const updatesAtOnce = ({ name }) => names.some(([each]) => each === name);

function versionOf(hostname) {
  let rest = percentOf(`version ${hostname}`);
  for (const [version, share] of Object.entries(versions)) {
    if (rest < share) return version;
    rest -= share;
  }
  return "2.4.3";
}

/** Machines of a customer's site. */
export function machinesOf(customer, site) {
  const code = `${site.name.slice(0, 3)}`.toLowerCase();
  const isPrompt = updatesAtOnce(customer);
  const own = isPrompt ? code : `${customer.slug.slice(0, 3)}-${code}`;
  return kinds.flatMap(([kind, os, count]) =>
    Array.from({ length: count + (percentOf(`${customer.name} ${site.name} ${kind}`) % 7) }, (_, at) => {
      const hostname = `${own}-${kind}-${String(at + 1).padStart(2, "0")}`;
      return {
        hostname,
        os,
        arch: os === "darwin" ? "arm64" : "amd64",
        agentVersion: isPrompt ? "2.4.3" : versionOf(hostname),
        watchdogVersion: "1.1.0",
        hardwareId: createHash("sha256").update(hostname).digest("hex"),
      };
    }),
  );
}
