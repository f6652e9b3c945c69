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
  "http://www.w3.org/TR/2013/REC-xmlenc-core1-20130411/xenc-schema-11.xsd": "xenc-schema-11.xsd",
} as const;

/** SAML's schemas, and those of elements that they let stand without naming them. */
const root = `<schema xmlns="http://www.w3.org/2001/XMLSchema">
  <import namespace="urn:oasis:names:tc:SAML:2.0:protocol" schemaLocation="saml-schema-protocol-2.0.xsd"/>
  <import namespace="http://www.w3.org/2009/xmlenc11#"
    schemaLocation="http://www.w3.org/TR/2013/REC-xmlenc-core1-20130411/xenc-schema-11.xsd"/>
</schema>`;

const value = '<element ref="saml:AttributeValue" minOccurs="0" maxOccurs="unbounded"/>';
const anyValue = `<any namespace="##targetNamespace" processContents="skip" minOccurs="0" maxOccurs="unbounded"/>`;

/**
 * What SAML leaves to others is not validated: the content of attribute values and of SAML's own wildcards. A validator
 * validates it by its `xsi:type` otherwise, and refuses types that it does not know and texts that do not fit them,
 * such as "True" for `xs:boolean`. Shape and signature still count there (shape.ts).
 */
function lax(file: string, schema: string): string {
  if (!file.startsWith("saml-")) return schema;
  return schema.replace(value, anyValue).replaceAll(/(<any\s[^>]*processContents=)"lax"/g, '$1"skip"');
}

let compiled: XsdValidator | null = null;

/**
 * The schema of SAML's protocol and assertions, compiled at its first use. The schema files are readable to the parser
 * only during that: untrusted documents cannot load files.
 */
export function samlSchema(): XsdValidator {
  if (compiled) return compiled;
  const bytesOf = (file: string) =>
    Buffer.from(lax(file, readFileSync(new URL(`../../../schemas/${file}`, import.meta.url), "utf8")));
  const provided = Object.fromEntries(Object.entries(files).map(([name, file]) => [name, bytesOf(file)]));
  xmlRegisterInputProvider(new XmlBufferInputProvider(provided));
  try {
    // The schema of signatures declares its own entities, without an external DOCTYPE.
    const schema = XmlDocument.fromString(root, { url: "root.xsd", option: ParseOption.XML_PARSE_NONET });
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
