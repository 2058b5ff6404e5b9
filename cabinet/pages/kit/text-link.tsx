import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { isPublicDocument } from '../public-addresses.ts'

const looks = 'font-medium text-accent underline decoration-1 underline-offset-3 hover:text-accent-strong'

/** A link within a text. `isNewTab`: if leaving would lose typed text. */
export function TextLink({
  href,
  isNewTab = false,
  children,
}: {
  readonly href: string
  readonly isNewTab?: boolean
  readonly children: ReactNode
}) {
  if (isNewTab || /^(?:[a-z]+:|#)/.test(href) || isPublicDocument(href))
    return (
      <a href={href} className={looks} {...(isNewTab && { target: '_blank', rel: 'noreferrer' })}>
        {children}
      </a>
    )
  return (
    <Link href={href} className={looks}>
      {children}
    </Link>
  )
}

/** A sentence with a link in braces: `Принимаю {условия оферты}`. */
export function LinkedText({
  text,
  href,
  isNewTab = false,
}: {
  readonly text: string
  readonly href: string
  readonly isNewTab?: boolean
}) {
  const [before = '', linked = '', after = ''] = text.split(/[{}]/)
  return (
    <>
      {before}
      <TextLink href={href} isNewTab={isNewTab}>
        {linked}
      </TextLink>
      {after}
    </>
  )
}
