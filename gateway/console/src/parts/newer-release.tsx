import { useState } from "react";
import { useGet } from "../api/queries.ts";

const setting = "muster.release-seen";

/** A newer release that the operator's feed names, until the user has put it away: once for each. */
export function NewerRelease() {
  const [seen, setSeen] = useState(() => localStorage.getItem(setting));
  const { data } = useGet("/api/v1/platform/status", {});
  const newer = data?.newerRelease;
  if (!newer || newer.version === seen) return null;
  const putAway = () => {
    localStorage.setItem(setting, newer.version);
    setSeen(newer.version);
  };
  return (
    <p role="note">
      Release {newer.version} is newer than this platform’s {data.version}.{" "}
      {newer.url === null ? null : (
        <a href={newer.url} target="_blank" rel="noopener noreferrer">
          What is new
        </a>
      )}{" "}
      <button type="button" onClick={putAway}>
        Put away
      </button>
    </p>
  );
}
