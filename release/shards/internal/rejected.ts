/** A command that cannot be carried out, with one sentence for its operator. */
export class Rejected extends Error {
  constructor(why: string) {
    super(why)
    this.name = 'Rejected'
  }
}
