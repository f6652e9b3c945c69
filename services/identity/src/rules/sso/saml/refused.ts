/** A SAML document is not accepted; `detail` is for the provider's administrators and holds nothing of the document. */
export class SamlRefused extends Error {
  readonly detail: string;

  constructor(detail: string, options: { cause?: unknown } = {}) {
    super(detail, options);
    this.name = "SamlRefused";
    this.detail = detail;
  }
}
