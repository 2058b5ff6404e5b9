/** A base address with a path behind its own and before its query. */
export function behind(baseUrl: string, path: string, query?: string): string {
  const [address = '', own] = baseUrl.split('?', 2)
  const queries = [own, query].filter((text) => text !== undefined)
  return `${address.replace(/\/+$/, '')}${path}${queries.length === 0 ? '' : `?${queries.join('&')}`}`
}
