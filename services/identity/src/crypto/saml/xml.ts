import { ParseOption, XmlC14NMode, XmlDocument, XmlElement, XmlText } from "libxml2-wasm";
import { type ByteLimits, byteError } from "../../rules/sso/saml/byte-limits.ts";
import { SamlRefused } from "../../rules/sso/saml/refused.ts";
import { samlSchema } from "./schemas.ts";

export type { XmlElement } from "libxml2-wasm";

export const ns = {
  protocol: "urn:oasis:names:tc:SAML:2.0:protocol",
  assertion: "urn:oasis:names:tc:SAML:2.0:assertion",
  metadata: "urn:oasis:names:tc:SAML:2.0:metadata",
  signature: "http://www.w3.org/2000/09/xmldsig#",
  encryption: "http://www.w3.org/2001/04/xmlenc#",
  exclusive: "http://www.w3.org/2001/10/xml-exc-c14n#",
} as const;
export type Namespace = keyof typeof ns;

const option = ParseOption.XML_PARSE_NONET | ParseOption.XML_PARSE_NO_XXE | ParseOption.XML_PARSE_NO_SYS_CATALOG;

/**
 * Parses bytes within limits, validates them against SAML's schema when asked, and passes the root to `use`; the
 * document is freed afterwards, also when `use` throws. Throws SamlRefused for an invalid document.
 */
export function withXml<T>(
  bytes: Buffer,
  { limits, validate }: { limits: ByteLimits; validate: boolean },
  use: (root: XmlElement) => T,
): T {
  const error = byteError(bytes, limits);
  if (error !== null) throw new SamlRefused(`the document is refused unread: ${error}`);
  const document = parsed(bytes);
  try {
    // Namespaces that are not absolute URIs cannot be canonicalised.
    if (document.warnings.length > 0) throw new SamlRefused("the document is not well-formed");
    if (validate) requireValid(document);
    return use(document.root);
  } finally {
    document.dispose();
  }
}

function parsed(bytes: Buffer): XmlDocument {
  try {
    return XmlDocument.fromBuffer(bytes, { option });
  } catch (cause) {
    throw new SamlRefused("the document is not well-formed", { cause });
  }
}

function requireValid(document: XmlDocument): void {
  try {
    samlSchema().validate(document);
  } catch (cause) {
    throw new SamlRefused("the document does not follow the schema of SAML 2.0", { cause });
  }
}

export const isElement = (element: XmlElement, namespace: Namespace, name: string) =>
  element.name === name && element.namespaceUri === ns[namespace];

/** Child elements in their order. Throws SamlRefused for a child that is neither element nor text. */
export function childrenOf(element: XmlElement): XmlElement[] {
  const children: XmlElement[] = [];
  for (let child = element.firstChild; child !== null; child = child.next) {
    if (child instanceof XmlElement) children.push(child);
    else if (!(child instanceof XmlText)) throw new SamlRefused("the document holds more than elements and text");
  }
  return children;
}

export const childrenNamed = (element: XmlElement, namespace: Namespace, name: string) =>
  childrenOf(element).filter((child) => isElement(child, namespace, name));

/** The one child of a name. Throws SamlRefused when there is none, or more than one. */
export function onlyChild(element: XmlElement, namespace: Namespace, name: string): XmlElement {
  const [child, ...more] = childrenNamed(element, namespace, name);
  if (!child || more.length > 0) throw new SamlRefused(`${element.name} must hold one ${name}`);
  return child;
}

export function optionalChild(element: XmlElement, namespace: Namespace, name: string): XmlElement | null {
  return childrenNamed(element, namespace, name).length === 0 ? null : onlyChild(element, namespace, name);
}

/** Every element below one, and itself, in document order. */
export function everyElement(root: XmlElement): XmlElement[] {
  const found: XmlElement[] = [];
  const waiting = [root];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    found.push(next);
    waiting.push(...childrenOf(next).reverse());
  }
  return found;
}

/** The text of an element that holds nothing else: one text node, or none. Throws SamlRefused. */
export function textOf(element: XmlElement): string {
  const first = element.firstChild;
  if (first === null) return "";
  if (!(first instanceof XmlText) || first.next !== null) throw new SamlRefused(`${element.name} must hold one text`);
  return first.content;
}

/** An attribute without a namespace, or null. */
export function attribute(element: XmlElement, name: string): string | null {
  return element.attrs.find((each) => each.name === name && each.namespaceUri === "")?.value ?? null;
}

/** Base64 as XML writes it, with white space anywhere. Throws SamlRefused. */
export function bytesIn(element: XmlElement): Buffer {
  const text = textOf(element).replaceAll(/[\t\n\r ]/g, "");
  const bytes = Buffer.from(text, "base64");
  if (text === "" || bytes.toString("base64") !== text) throw new SamlRefused(`${element.name} is not base64`);
  return bytes;
}

/** Exclusive canonical form without comments (https://www.w3.org/TR/xml-exc-c14n/). Throws SamlRefused. */
export function canonical(element: XmlElement, prefixes: readonly string[]): Buffer {
  try {
    const mode = XmlC14NMode.XML_C14N_EXCLUSIVE_1_0;
    return Buffer.from(element.canonicalizeToString({ mode, inclusiveNamespacePrefixes: [...prefixes] }));
  } catch (cause) {
    throw new SamlRefused("the document cannot be canonicalised", { cause });
  }
}
