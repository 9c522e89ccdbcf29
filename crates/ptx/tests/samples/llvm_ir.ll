; A kernel as LLVM's own PTX back end writes it: byte-wise initialisers, calls,
; recursion, an indirect call, full debugging information.
target triple = "nvptx64-nvidia-cuda"
@sh = internal addrspace(3) global [32 x i32] undef, align 16
@tab = internal addrspace(4) constant [4 x float] [float 1.0, float 2.5, float -3.0, float 0x7FF8000000000000], align 4
@ptrs = addrspace(1) global [2 x i32*] [i32* addrspacecast (i32 addrspace(1)* @g to i32*), i32* getelementptr (i32, i32* addrspacecast (i32 addrspace(1)* @g to i32*), i32 3)]
@g = addrspace(1) global i32 7
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier0()
declare i32 @ext(i32, <4 x float>*)
define internal i32 @rec(i32 %n) noinline { 
  %c = icmp slt i32 %n, 2
  br i1 %c, label %a, label %b
a: ret i32 1
b: %m = sub i32 %n, 1
  %r = call i32 @rec(i32 %m)
  %s = mul i32 %r, %n
  ret i32 %s
}
define ptx_kernel void @k(i32 addrspace(1)* align 8 %p, i32 (i32)* %f, i32 %n, {i32, double} %s, [3 x i16] %arr) !dbg !5 {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !dbg !8
  %q = getelementptr i32, i32 addrspace(1)* %p, i32 %t
  %loc = alloca <4 x float>
  %v = load i32, i32 addrspace(1)* %q, !dbg !9
  %idx = getelementptr [32 x i32], [32 x i32] addrspace(3)* @sh, i32 0, i32 %t
  store i32 %v, i32 addrspace(3)* %idx
  call void @llvm.nvvm.barrier0()
  switch i32 %v, label %d [ i32 0, label %a
    i32 1, label %b
    i32 2, label %c
    i32 3, label %e
    i32 4, label %a2 ]
a: %x1 = call i32 @rec(i32 %v)
  br label %d
b: %x2 = call i32 %f(i32 %v)
  br label %d
c: %x3 = atomicrmw add i32 addrspace(1)* %p, i32 %v seq_cst
  br label %d
e: %x4 = call i32 @ext(i32 %v, <4 x float>* %loc)
  br label %d
a2: %x5 = extractvalue {i32, double} %s, 0
  br label %d
d: %x = phi i32 [0, %0], [%x1, %a], [%x2, %b], [%x3, %c], [%x4, %e], [%x5, %a2]
  store i32 %x, i32 addrspace(1)* %q
  ret void, !dbg !9
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2, !3}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, producer: "own", isOptimized: true, runtimeVersion: 0, emissionKind: FullDebug)
!1 = !DIFile(filename: "/src/k.c", directory: "")
!2 = !{i32 2, !"Dwarf Version", i32 2}
!3 = !{i32 2, !"Debug Info Version", i32 3}
!4 = !DISubroutineType(types: !{})
!5 = distinct !DISubprogram(name: "k", scope: !1, file: !1, line: 3, type: !4, isLocal: false, isDefinition: true, scopeLine: 3, unit: !0)
!8 = !DILocation(line: 4, column: 3, scope: !5)
!9 = !DILocation(line: 5, column: 7, scope: !5)
