import { Link, useLocation, useNavigate } from "@tanstack/react-router";
import {
  Activity,
  Building2,
  FolderSync,
  Gauge,
  KeyRound,
  Laptop,
  LogIn,
  type LucideIcon,
  PackageCheck,
  Rss,
  ScrollText,
  Settings,
  Users,
  Webhook,
} from "lucide-react";
import { type ListPagePath, to } from "../parts/links.ts";
import { type SectionName, sections, type Tab, tabsFor } from "../parts/sections.ts";
import { useShortcut } from "../parts/shortcuts.ts";
import { useAttention } from "../parts/use-attention.ts";
import { useFilters } from "../parts/use-filters.ts";
import { fleetSize } from "../rules/fleet-size.ts";
import type { Me } from "../rules/why-not.ts";
import styles from "./navigation.module.css";

type Entry = { section: SectionName; title: string; icon: LucideIcon; keys: string };

/** The entries in their groups. */
export const groups: readonly { name: string; entries: readonly Entry[] }[] = [
  { name: "", entries: [{ section: "overview", title: "Overview", icon: Gauge, keys: "g o" }] },
  {
    name: "Fleet",
    entries: [
      { section: "devices", title: "Devices", icon: Laptop, keys: "g d" },
      { section: "releases", title: "Releases", icon: PackageCheck, keys: "g e" },
    ],
  },
  {
    name: "Trust",
    entries: [
      { section: "audit", title: "Audit", icon: ScrollText, keys: "g a" },
      { section: "users", title: "People", icon: Users, keys: "g p" },
      { section: "keys", title: "Keys", icon: KeyRound, keys: "g k" },
      { section: "signIn", title: "Sign-in", icon: LogIn, keys: "g i" },
    ],
  },
  {
    name: "Connect",
    entries: [
      { section: "webhooks", title: "Webhooks", icon: Webhook, keys: "g w" },
      { section: "directory", title: "Directories", icon: FolderSync, keys: "g y" },
      { section: "streams", title: "Streams", icon: Rss, keys: "g t" },
    ],
  },
  {
    name: "Manage",
    entries: [
      { section: "tenants", title: "Organizations", icon: Building2, keys: "g z" },
      { section: "settings", title: "Settings", icon: Settings, keys: "g s" },
      { section: "operations", title: "Operations", icon: Activity, keys: "g n" },
    ],
  },
];

const entries = groups.flatMap((group) => group.entries);

export type ShownEntry = Entry & { to: ListPagePath };

/** An entry whose pages would show something to this user: it leads to the first of them, and has its name. */
function shownFor(me: Me, entry: Entry): ShownEntry | null {
  const [first] = tabsFor(me, entry.section);
  if (!first) return null;
  return { ...entry, to: first.to, title: first.to === sections[entry.section][0].to ? entry.title : first.title };
}

/** The groups with the entries that this user has. */
export const groupsFor = (me: Me) =>
  groups
    .map(({ name, entries: all }) => ({ name, entries: all.flatMap((each) => shownFor(me, each) ?? []) }))
    .filter((group) => group.entries.length > 0);

/** Every page that would show something to this user, with the icon of its entry. */
export const pagesFor = (me: Me): readonly (Tab & { icon: LucideIcon })[] =>
  entries.flatMap(({ section, icon }) => tabsFor(me, section).map((tab) => ({ ...tab, icon })));

/** The entry whose pages a path belongs to: the one with the longest path of its own. */
export function entryOf(pathname: string): Entry | undefined {
  const length = ({ section }: Entry) =>
    Math.max(
      ...sections[section].map(({ to: path }) =>
        pathname === path || (path !== "/" && pathname.startsWith(`${path}/`)) ? path.length : 0,
      ),
    );
  const [best] = [...entries].sort((a, b) => length(b) - length(a));
  return best && length(best) > 0 ? best : undefined;
}

/** All pages in their groups, with what fails in each. */
export function Navigation({ me, onGo }: { me: Me; onGo?: () => void }) {
  const [{ orgId }] = useFilters();
  const { pathname } = useLocation();
  const current = entryOf(pathname)?.section;
  const { needs, summary } = useAttention(orgId);
  const count = (kind: string) => needs.filter((need) => need.kind === kind).length;
  const failing: Partial<Record<SectionName, number>> = {
    releases: count("rollout"),
    webhooks: count("webhook"),
    streams: count("audit_stream"),
    signIn: count("sso_provider"),
    directory: count("directory"),
  };
  const devices = summary ? fleetSize(summary.byStatus) : 0;
  return (
    <nav aria-label="Main" className={styles.nav}>
      {groupsFor(me).map((group) => (
        <div key={group.name}>
          {group.name ? <p aria-hidden>{group.name}</p> : null}
          <ul aria-label={group.name || undefined}>
            {group.entries.map((entry) => (
              <li key={entry.section}>
                <Link
                  {...to(entry.to, { orgId })}
                  activeOptions={{ exact: true, includeSearch: false }}
                  aria-current={entry.section === current ? "true" : undefined}
                  {...(onGo ? { onClick: onGo } : {})}
                >
                  <entry.icon size={16} strokeWidth={1.75} aria-hidden />
                  {entry.title}
                </Link>
                {entry.section === "devices" && devices ? (
                  <small className="number">{devices.toLocaleString()}</small>
                ) : null}
                {failing[entry.section] ? (
                  <small className={`${styles.failing} number`}>
                    {failing[entry.section]}
                    <span className="visually-hidden"> failing</span>
                  </small>
                ) : null}
              </li>
            ))}
          </ul>
        </div>
      ))}
    </nav>
  );
}

/** The shortcuts of all entries, wherever the navigation is. */
export function NavigationKeys({ me }: { me: Me }) {
  return groupsFor(me).flatMap((group) =>
    group.entries.map((entry) => <Shortcut key={entry.section} keys={entry.keys} path={entry.to} />),
  );
}

function Shortcut({ keys, path }: { keys: string; path: ListPagePath }) {
  const [{ orgId }] = useFilters();
  const navigate = useNavigate();
  useShortcut(keys, () => void navigate(to(path, { orgId })));
  return null;
}
