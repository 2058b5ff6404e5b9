import { Link } from 'wouter'
import { productName } from '../route-table.ts'

export function Brand({ href }: { readonly href: string }) {
  return (
    <Link
      href={href}
      className="inline-flex min-h-9 items-center gap-2.5 rounded-md font-semibold text-ink no-underline"
    >
      <svg aria-hidden="true" width="26" height="26" viewBox="0 0 32 32" className="shrink-0">
        <rect width="32" height="32" rx="9" className="fill-accent" />
        <path
          d="M8 22V12.5a4 4 0 0 1 8 0V22m0-9.5a4 4 0 0 1 8 0V22"
          fill="none"
          className="stroke-on-accent"
          strokeWidth="2.75"
          strokeLinecap="round"
        />
      </svg>
      <span translate="no" className="whitespace-nowrap max-[22rem]:sr-only">
        {productName}
      </span>
    </Link>
  )
}
