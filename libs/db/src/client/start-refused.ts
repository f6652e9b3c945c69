/** The database is not fit to serve: the message names what is wrong and the cure. A process that meets it must end. */
export class StartRefused extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "StartRefused";
  }
}
