const ends = new Set<() => void>()

/** Forgets something of the session when the user signs out in this tab. */
export function atSignOut(forget: () => void): void {
  ends.add(forget)
}

/** To be called once the session is over. */
export function forgetSession(): void {
  for (const forget of ends) forget()
}
