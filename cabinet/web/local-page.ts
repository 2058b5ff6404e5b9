/** A page served only to this machine. `npm start` has some. The web process of a cluster has none. */
export type LocalPage = {
  readonly url: string
  /** Its current media type and text. */
  readonly render: () => { readonly type: string; readonly body: string }
}
