import { useWords } from '../i18n/language.ts'
import { kitWords } from './messages.ts'

/** Replaces loading content at the same height; visible after 150 ms. */
export function Skeleton({ heightRem }: { readonly heightRem: number }) {
  const words = useWords(kitWords)
  return (
    <div className="after-a-moment" style={{ height: `${heightRem}rem` }}>
      <span className="sr-only">{words.loading}</span>
      <div aria-hidden="true" className="breathing h-full rounded-md bg-sunken" />
    </div>
  )
}

/** Replaces the rows of a table. */
export function SkeletonRows({ count }: { readonly count: number }) {
  const words = useWords(kitWords)
  return (
    <div className="after-a-moment px-5 pb-4">
      <span className="sr-only">{words.loading}</span>
      {Array.from({ length: count }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: all rows are the same
        <div key={index} aria-hidden="true" className="flex h-11 items-center">
          <div className="breathing h-4 w-full rounded-sm bg-sunken" />
        </div>
      ))}
    </div>
  )
}
