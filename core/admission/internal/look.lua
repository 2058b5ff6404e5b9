--[[ `inspect` for callers with read-only permissions: see there for arguments and reply. ]]

begin()
return of_key(usable)
