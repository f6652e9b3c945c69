import { readFileSync } from "node:fs";
import {
  ParseOption,
  XmlBufferInputProvider,
  XmlDocument,
  XsdValidator,
  xmlCleanupInputProvider,
  xmlRegisterInputProvider,
} from "libxml2-wasm";

/** The names that the schemas import one another by, and our copies of them. */
const files = {
  "saml-schema-protocol-2.0.xsd": "saml-schema-protocol-2.0.xsd",
  "saml-schema-assertion-2.0.xsd": "saml-schema-assertion-2.0.xsd",
  "http://www.w3.org/TR/2002/REC-xmldsig-core-20020212/xmldsig-core-schema.xsd": "xmldsig-core-schema.xsd",
  "http://www.w3.org/TR/2002/REC-xmlenc-core-20021210/xenc-schema.xsd": "xenc-schema.xsd",
  "http://www.w3.org/TR/2002/REC-xmlenc-core-20021210/xmldsig-core-schema.xsd": "xmldsig-core-schema.xsd",
} as const;

let compiled: XsdValidator | null = null;

/**
 * The schema of SAML's protocol and assertions, compiled at its first use. The schema files are readable to the parser
 * only during that: untrusted documents cannot load files.
 */
export function samlSchema(): XsdValidator {
  if (compiled) return compiled;
  const bytesOf = (file: string) => readFileSync(new URL(`../../../schemas/${file}`, import.meta.url));
  const provided = Object.fromEntries(Object.entries(files).map(([name, file]) => [name, bytesOf(file)]));
  xmlRegisterInputProvider(new XmlBufferInputProvider(provided));
  try {
    const name = "saml-schema-protocol-2.0.xsd";
    // The schema of signatures declares its own entities, without an external DOCTYPE.
    const schema = XmlDocument.fromBuffer(bytesOf(name), { url: name, option: ParseOption.XML_PARSE_NONET });
    try {
      compiled = XsdValidator.fromDoc(schema);
      return compiled;
    } finally {
      schema.dispose();
    }
  } finally {
    xmlCleanupInputProvider();
  }
}
