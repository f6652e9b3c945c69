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
const zones = { Osaka: "Asia/Tokyo", Nagoya: "Asia/Tokyo", Tokyo: "Asia/Tokyo", Sydney: "Australia/Sydney" };
const kinds = [
  ["pos", "linux", 5],
  ["srv", "linux", 2],
  ["kiosk", "windows", 4],
  ["desk", "windows", 5],
  ["mac", "darwin", 2],
];

/** Versions of the agent with how many of a hundred machines run each; the second is the fleet's target. */
export const versions = { "2.5.0": 0, "2.4.3": 86, "2.4.1": 8, "2.3.9": 6 };

export const customers = [...names, ...others.map((name, at) => [name, towns[at % towns.length]])].map(
  ([name, ...sites]) => ({
    name,
    slug: name.toLowerCase().replace(/[^a-z]+/g, "-"),
    sites: sites.map((site) => ({ name: site, timezone: zones[site] ?? "Europe/Berlin" })),
  }),
);

/** A number from 0 to 99 that belongs to a text. */
export const percentOf = (text) => createHash("sha256").update(text).digest().readUInt32BE() % 100;

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
  const own = names.some(([name]) => name === customer.name) ? code : `${customer.slug.slice(0, 3)}-${code}`;
  return kinds.flatMap(([kind, os, count]) =>
    Array.from({ length: count + (percentOf(`${customer.name} ${site.name} ${kind}`) % 7) }, (_, at) => {
      const hostname = `${own}-${kind}-${String(at + 1).padStart(2, "0")}`;
      return {
        hostname,
        os,
        arch: os === "darwin" ? "arm64" : "amd64",
        agentVersion: versionOf(hostname),
        hardwareId: createHash("sha256").update(hostname).digest("hex"),
      };
    }),
  );
}
