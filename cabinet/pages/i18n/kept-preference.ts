const keptForS = 365 * 24 * 60 * 60

/** Keeps a preference in a cookie; the server reads it when it renders the next page. */
export function keepPreference(name: string, value: string): void {
  // The Cookie Store API is missing on pages opened over plain HTTP.
  // biome-ignore lint/suspicious/noDocumentCookie: see above
  document.cookie = `${name}=${value}; path=/; max-age=${keptForS}; samesite=lax`
}
