import { Refusal } from "./refusal.mjs";

/** Sections of a changelog as Keep a Changelog orders them, by the name in their heading: `## [1.2.0] - 2026-01-01`. */
export function sectionsOf(changelog) {
  const sections = new Map();
  for (const part of changelog.split(/^## /m).slice(1)) {
    const end = part.indexOf("\n");
    const [, name = ""] = /^\[?([^\]\s]+)\]?/.exec(part) ?? [];
    sections.set(name, end < 0 ? "" : part.slice(end + 1).trim());
  }
  return sections;
}

/** What changed in a version; of one that is not published, what is unreleased. Throws a refusal where nothing is. */
export function notesOf(changelog, version, { unpublished }) {
  const sections = sectionsOf(changelog);
  const notes = sections.get(version) || (unpublished ? sections.get("Unreleased") : undefined);
  if (!notes) throw new Refusal("changelog", `CHANGELOG.md has no section ${version} with changes.`);
  return `# Muster ${version}\n\n${notes}\n`;
}

const kinds = new Set(["added", "changed", "deprecated", "removed", "fixed", "security"]);

/** Changes as ArtifactHub lists them: `{ kind, description }`, without Markdown's code marks. */
export function changesOf(notes) {
  return notes.split(/^### /m).flatMap((part) => {
    const kind = part.slice(0, part.indexOf("\n")).trim().toLowerCase();
    if (!kinds.has(kind)) return [];
    return part
      .split(/^- /m)
      .slice(1)
      .map((item) => ({ kind, description: item.replaceAll("`", "").replace(/\s+/g, " ").trim() }));
  });
}
