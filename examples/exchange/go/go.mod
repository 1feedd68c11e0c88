module attention

go 1.18
