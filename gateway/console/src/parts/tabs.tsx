import { Link } from "@tanstack/react-router";
import { to } from "./links.ts";
import { useMe } from "./me.tsx";
import { type SectionName, tabsFor } from "./sections.ts";
import styles from "./tabs.module.css";
import { useFilters } from "./use-filters.ts";
import { useScrollToCurrent } from "./use-scroll-to-current.ts";

/** Tabs for the pages of a section; none when there is only one page. */
export function Tabs({ section, label }: { section: SectionName; label: string }) {
  const tabs = tabsFor(useMe(), section);
  const [{ orgId }] = useFilters();
  const row = useScrollToCurrent<HTMLElement>();
  if (tabs.length < 2) return null;
  return (
    <nav ref={row} aria-label={label} className={styles.tabs}>
      {tabs.map(({ to: path, title }) => (
        <Link key={path} {...to(path, { orgId })} activeOptions={{ exact: true, includeSearch: false }}>
          {title}
        </Link>
      ))}
    </nav>
  );
}
