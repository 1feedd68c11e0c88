# Reads and writes .safetensors files, for a machine that stores numbers little end first:
#
#   8 bytes    the length of the header
#   header     {"name": {"dtype": "F64", "shape": [2, 3], "data_offsets": [begin, end]}, ...}
#   the rest   the arrays, the last axis running fastest; the offsets count from here
#
# Julia lets the first axis run fastest, so that axes are turned round here, once, on the way in and
# out. Elsewhere an array has the axes in the order of its name: q[b, h, t, c], counted from 1.
module Tensors

export read_tensors, write_tensors

const KINDS = Dict("F64" => Float64, "F32" => Float32, "I64" => Int64, "BOOL" => UInt8)

# Quotes inside the texts of the metadata have a backslash before them, and fit no entry.
const ENTRY = r"\"((?:[^\"\\]|\\.)*)\"\s*:\s*\{([^{}]*\"data_offsets\"[^{}]*)\}"

field(entry, pattern) =
    let found = match(pattern, entry)
        isnothing(found) ? error("the header isn't what it should be: $entry") : found[1]
    end

numbers(text) = Int[parse(Int, strip(part)) for part in split(text, ','; keepempty=false) if !isempty(strip(part))]

turned(array) = permutedims(array, ndims(array):-1:1)

function read_tensors(path)
    whole = read(path)
    length(whole) >= 8 || error("$path: its header is cut")
    start = 8 + only(reinterpret(UInt64, whole[1:8]))
    8 <= start <= length(whole) || error("$path: its header is cut")
    header, data = String(whole[9:start]), whole[start+1:end]
    found = Dict{String,Array{Float64}}()
    for (name, entry) in (one.captures for one in eachmatch(ENTRY, header))
        kind = field(entry, r"\"dtype\"\s*:\s*\"(\w+)\"")
        haskey(KINDS, kind) || error("$name is of the type $kind")
        shape = numbers(field(entry, r"\"shape\"\s*:\s*\[([^\]]*)\]"))
        from, to = numbers(field(entry, r"\"data_offsets\"\s*:\s*\[([^\]]*)\]"))
        0 <= from <= to <= length(data) && to - from == prod(shape) * sizeof(KINDS[kind]) ||
            error("$name isn't whole")
        flat = reinterpret(KINDS[kind], data[from+1:to])
        flat = Float64.(kind == "BOOL" ? flat .!= 0 : flat)
        found[name] = isempty(shape) ? fill(only(flat)) : turned(reshape(flat, reverse(shape)...))
    end
    return found
end

function write_tensors(path, tensors)
    entries, data = String[], IOBuffer()
    for (name, array) in tensors
        from = position(data)
        write(data, Float64.(turned(array)))
        shape = join(size(array), ",")
        push!(entries, "\"$name\":{\"dtype\":\"F64\",\"shape\":[$shape],\"data_offsets\":[$from,$(position(data))]}")
    end
    header = "{" * join(entries, ",") * "}"
    header *= " "^mod(-ncodeunits(header), 8)  # the arrays begin at a multiple of 8
    open(path, "w") do file
        write(file, UInt64(ncodeunits(header)), header, take!(data))
    end
end

end
