const lengthMax = 60
/** Mail programs make links of these, so that the name could advertise anything to any address. */
const linkLike = /[/@\\]|\p{L}[.:]\p{L}|\p{N}[.:]\p{L}/u

/**
 * The name of an organization in an email to a stranger: the display name, or the slug if the display name is long or
 * looks like a link. Pure.
 */
export function nameForStrangers(name: string, displayName: string | null): string {
  if (displayName === null || displayName.length > lengthMax || linkLike.test(displayName)) return name
  return displayName
}
