/**
 * Texts of other languages in ICU's data, by what they are about: what is left is English, and what all languages
 * share.
 */
const languages = /^icudt\w+\/(?:(?:curr|lang|rbnf|region|unit|zone|coll)\/)?(?!res_)([a-z]{2,3})(?:_\w+)?\.res$/;
const magic = [0xda, 0x27];

/**
 * A Node program without the texts of other languages than English, which make the packed file a fifth larger: `Intl`
 * is then as in a Node of "small-icu". Their names leave the table of contents, and their bytes become zeros; nothing
 * else moves. Throws when the table is not there exactly once.
 *
 * Of ICU's "common data" (udata.h, ucmndata.h): a header of 16-bit size, the bytes da 27, and at 12 the name "CmnD";
 * after the header the number of items and, for each, the offsets of its name and its bytes, sorted by name.
 *
 * @param {Buffer} program
 */
export function withoutLanguages(program) {
  const base = tableIn(program);
  const items = itemsAt(program, base);
  const changed = Buffer.from(program);
  const kept = [];
  for (const [at, item] of items.entries()) {
    const language = languages.exec(item.name)?.[1];
    if (language === undefined || language === "en") kept.push(item);
    // The length of the last item stands nowhere.
    else if (at + 1 < items.length) changed.fill(0, base + item.bytes, base + items[at + 1].bytes);
  }
  changed.writeUInt32LE(kept.length, base);
  for (const [at, { entry }] of kept.entries()) program.copy(changed, base + 4 + 8 * at, entry, entry + 8);
  return changed;
}

function tableIn(program) {
  const found = [];
  for (let at = program.indexOf("CmnD"); at >= 0; at = program.indexOf("CmnD", at + 1)) {
    const start = at - 12;
    if (start >= 0 && magic.every((byte, n) => program[start + 2 + n] === byte)) found.push(start);
  }
  if (found.length !== 1) throw new Error(`the Node program has ICU's data ${found.length} times`);
  return found[0] + program.readUInt16LE(found[0]);
}

function itemsAt(program, base) {
  return Array.from({ length: program.readUInt32LE(base) }, (_, n) => {
    const entry = base + 4 + 8 * n;
    const name = base + program.readUInt32LE(entry);
    return {
      entry,
      name: program.toString("latin1", name, program.indexOf(0, name)),
      bytes: program.readUInt32LE(entry + 4),
    };
  });
}
