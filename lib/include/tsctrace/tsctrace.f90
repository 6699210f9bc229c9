! SPDX-License-Identifier: MIT
!
! Fortran binding of tsct_timesync(3) and tsct_timesync_join(3), Fortran 2008. Modules of
! one compiler do not work with another one, so this source is installed: compile it
! with the program, and link with -ltsctrace.
!
!   use tsctrace
!   integer :: err
!   character(256) :: why
!   call tsct_timesync_join(4, err, why)
!   call tsct_timesync(10000, err, why)
!   if (err /= 0) print *, trim(why)
!
! err is 0 or a negative error number. why is optional: the reason of a failure, blank
! otherwise.
module tsctrace
  use, intrinsic :: iso_c_binding, only: c_char, c_int, c_null_char, c_size_t
  implicit none
  private
  public :: tsct_timesync, tsct_timesync_join, tsct_timesync_leave

  integer, parameter :: why_max = 1024

  interface
    function c_timesync(timeout_ms, why, size) result(err) &
        bind(c, name='tsct_timesync')
      import :: c_char, c_int, c_size_t
      integer(c_int), value :: timeout_ms
      character(kind=c_char), intent(out) :: why(*)
      integer(c_size_t), value :: size
      integer(c_int) :: err
    end function c_timesync

    function c_timesync_join(nr_processes, why, size) result(err) &
        bind(c, name='tsct_timesync_join')
      import :: c_char, c_int, c_size_t
      integer(c_int), value :: nr_processes
      character(kind=c_char), intent(out) :: why(*)
      integer(c_size_t), value :: size
      integer(c_int) :: err
    end function c_timesync_join

    ! Undoes tsct_timesync_join(): tsct_timesync() no longer waits for this process.
    subroutine tsct_timesync_leave() bind(c, name='tsct_timesync_leave')
    end subroutine tsct_timesync_leave
  end interface

contains

  ! Synchronizes the clocks of all nodes now. timeout_ms: limit of the wait, ms;
  ! negative: no limit
  subroutine tsct_timesync(timeout_ms, err, why)
    integer, intent(in) :: timeout_ms
    integer, intent(out) :: err
    character(*), intent(out), optional :: why
    character(kind=c_char) :: text(why_max)

    err = int(c_timesync(int(timeout_ms, c_int), text, int(why_max, c_size_t)))
    if (present(why)) call copy_text(text, why)
  end subroutine tsct_timesync

  ! Declares that this process is one of nr_processes processes of this node for which
  ! tsct_timesync() waits. nr_processes: 0: the value of $TSCTRACE_TIMESYNC_PROCESSES
  subroutine tsct_timesync_join(nr_processes, err, why)
    integer, intent(in) :: nr_processes
    integer, intent(out) :: err
    character(*), intent(out), optional :: why
    character(kind=c_char) :: text(why_max)

    err = int(c_timesync_join(int(nr_processes, c_int), text, &
                              int(why_max, c_size_t)))
    if (present(why)) call copy_text(text, why)
  end subroutine tsct_timesync_join

  ! Copies a text that ends in NUL, cut or padded with blanks.
  subroutine copy_text(text, ret_text)
    character(kind=c_char), intent(in) :: text(:)
    character(*), intent(out) :: ret_text
    integer :: i

    ret_text = ' '
    do i = 1, min(len(ret_text), size(text))
      if (text(i) == c_null_char) exit
      ret_text(i:i) = text(i)
    end do
  end subroutine copy_text
end module tsctrace
