import { Link, useLocation } from "@tanstack/react-router";
import { ChevronRight, Search } from "lucide-react";
import { to } from "../parts/links.ts";
import { useShownTitle } from "../parts/page-title.tsx";
import { Popover } from "../parts/popover.tsx";
import { sections } from "../parts/sections.ts";
import { useFilters } from "../parts/use-filters.ts";
import { useZone, zoneName } from "../parts/zone.ts";
import { ZoneChoice } from "../parts/zone-choice.tsx";
import { openCommandMenu } from "./command-menu.tsx";
import { entryOf } from "./navigation.tsx";
import styles from "./shell.module.css";

/** Where the user is, and in which zone times are shown; on a phone also the search. */
export function TopBar() {
  const zone = useZone();
  return (
    <>
      <span className={`${styles.logo} ${styles.narrow}`} aria-hidden>
        M
      </span>
      <Crumbs />
      <span className={styles.grow} />
      <span className={styles.wide}>
        <Popover label="Time zone of this page" weight="quiet" button={`Times in ${zoneName(zone)}`}>
          <ZoneChoice />
        </Popover>
      </span>
      <button
        type="button"
        data-weight="quiet"
        data-size="icon"
        className={styles.narrow}
        aria-label="Search or run"
        onClick={openCommandMenu}
      >
        <Search size={19} aria-hidden />
      </button>
    </>
  );
}

/** The page's place: its part of the navigation, its list, and itself. */
function Crumbs() {
  const { pathname } = useLocation();
  const [{ orgId }] = useFilters();
  const title = useShownTitle();
  const entry = entryOf(pathname);
  const pages = entry ? sections[entry.section] : [];
  const list = [...pages]
    .filter((page) => page.to !== "/" && pathname.startsWith(`${page.to}/`))
    .sort((a, b) => b.to.length - a.to.length)[0];
  return (
    <div className={styles.crumbs}>
      {list ? (
        <span>
          <Link {...to(list.to, { orgId })}>
            {list.title}
            <span className="visually-hidden">, the list</span>
          </Link>
          <ChevronRight size={13} aria-hidden />
        </span>
      ) : null}
      <b>{title}</b>
    </div>
  );
}
