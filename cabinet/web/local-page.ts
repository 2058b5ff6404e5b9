/**
 * A page that only whoever sits at this machine may see. `npm start` has some; the web process of a cluster has none.
 */
export type LocalPage = {
  readonly url: string
  /** Its media type and its text, as they are now. */
  readonly render: () => { readonly type: string; readonly body: string }
}
