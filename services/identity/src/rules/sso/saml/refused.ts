/** A SAML document is not accepted; `detail` is for the provider's administrators and holds nothing of the document. */
export class SamlRefused extends Error {
  readonly detail: string;
  /** All that is wrong is the key, which the provider may have changed. */
  readonly isUnknownKey: boolean;

  constructor(detail: string, options: { cause?: unknown; isUnknownKey?: boolean } = {}) {
    super(detail, options);
    this.name = "SamlRefused";
    this.detail = detail;
    this.isUnknownKey = options.isUnknownKey ?? false;
  }
}

/** The provider's response reports a failed authentication. */
export class SamlStatus extends Error {
  readonly status: string;

  constructor(status: string) {
    super(status);
    this.name = "SamlStatus";
    this.status = status;
  }
}
