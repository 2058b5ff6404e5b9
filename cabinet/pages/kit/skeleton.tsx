import { kitWords } from '../words/kit.ts'
import { useWords } from '../words/language.ts'

/** In place of what is being read, as high as that will be; seen after 150 ms. */
export function Skeleton({ heightRem }: { readonly heightRem: number }) {
  const words = useWords(kitWords)
  return (
    <div className="after-a-moment" style={{ height: `${heightRem}rem` }}>
      <span className="sr-only">{words.loading}</span>
      <div aria-hidden="true" className="breathing h-full rounded-md bg-sunken" />
    </div>
  )
}

/** In place of the rows of a table. */
export function SkeletonRows({ count }: { readonly count: number }) {
  const words = useWords(kitWords)
  return (
    <div className="after-a-moment px-5 pb-4">
      <span className="sr-only">{words.loading}</span>
      {Array.from({ length: count }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: they are all the same
        <div key={index} aria-hidden="true" className="flex h-11 items-center">
          <div className="breathing h-4 w-full rounded-sm bg-sunken" />
        </div>
      ))}
    </div>
  )
}
